from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("fleet", "0003_journal"),
    ]

    operations = [
        migrations.AddField(
            model_name="sourcestate",
            name="not_before",
            field=models.FloatField(default=0),
        ),
    ]
